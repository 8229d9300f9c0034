/* SPDX-License-Identifier: Apache-2.0 */
/* tasks: 10,000 trivial operations, each started as a task of its own and waited for.
 *
 * goroutine: a descriptor of 64 bytes for each, and a stack of 2 KiB, Go's smallest, from a cache. No more than 64
 *     are in flight, so 64 stacks are allocated and then used again and again:
 *         10000 x 64 + 64 x 2048 = 771072 bytes, 77.1 for each operation. Published for Go: 0.74 MB, 77 B each.
 * task: what .NET's async and await make of it, headers of objects included: a Task of 64 bytes for each operation,
 *     and, where the operation hasn't finished when it is awaited, a boxed state machine of 40 bytes and a
 *     continuation of 24. Operations are started in groups of 64; the first of a group is run by the one who waits,
 *     so it is finished by then:
 *         10000 x 64 + 9843 x (40 + 24) = 1269952 bytes, 127.0 for each. Published for .NET: 1.21 MB, 127 B each.
 * thread: real threads in groups of 16. Each gets a block of 64 bytes with its arguments, and returns its result in
 *     one of 32 that the thread itself allocates and the one who joins it frees. (libc allocates for threads as
 *     well; that is not in the account.)
 *
 * Published with 1 MB = 2^20 bytes.
 */
#include "workloads/workload.h"

#include <pthread.h>

#define IN_FLIGHT 64
#define STACK_BYTES 2048
#define THREADS 16

static struct truth spawn_truth = {.function = "spawn_goroutine"};
static struct truth stack_truth = {.function = "take_stack"};
static struct truth task_truth = {.function = "start_task"};
static struct truth machine_truth = {.function = "box_state_machine"};
static struct truth continuation_truth = {.function = "add_continuation"};
static struct truth thread_truth = {.function = "start_thread"};
static struct truth result_truth = {.function = "run_thread"};

/* The operation: some rounds of a random number generator. */
static uint64_t operate(uint64_t argument) {
    uint64_t state = argument, value = 0;

    for (int round = 0; round < 16; round++)
        value ^= workload_random(&state);
    return value;
}

struct stack {
    struct stack *next; /* while it is in the cache */
    unsigned char room[STACK_BYTES - sizeof(struct stack *)];
};

struct goroutine {
    uint64_t (*function)(uint64_t);
    uint64_t argument;
    uint64_t result;
    struct stack *stack;
    uint64_t id;
    uint64_t state;
    void *waiting;
    void *link;
};
_Static_assert(sizeof(struct goroutine) == 64 && sizeof(struct stack) == STACK_BYTES, "as stated above");

ALLOCATES static struct stack *take_stack(struct stack **cache) {
    struct stack *stack = *cache;

    if (stack) {
        *cache = stack->next;
        return stack;
    }
    stack = malloc(sizeof *stack);
    truth_add(&stack_truth, stack, sizeof *stack);
    return stack;
}

ALLOCATES static struct goroutine *spawn_goroutine(uint64_t id, struct stack **cache) {
    struct goroutine *g = malloc(sizeof *g);

    truth_add(&spawn_truth, g, sizeof *g);
    *g = (struct goroutine){.function = operate, .argument = id, .id = id, .stack = take_stack(cache)};
    return g;
}

/* An operation that never blocks can run on the stack of its scheduler; its frame goes where its own stack is. */
static uint64_t finish_goroutine(struct goroutine *g, struct stack **cache) {
    uint64_t *frame = (uint64_t *)(void *)(g->stack->room + sizeof g->stack->room) - 2, result;

    frame[0] = g->argument;
    frame[1] = g->function(frame[0]);
    result = g->result = frame[1];
    g->stack->next = *cache;
    *cache = g->stack;
    free(g);
    return result;
}

static uint64_t run_goroutines(uint64_t n) {
    struct goroutine *flying[IN_FLIGHT];
    struct stack *cache = NULL;
    uint64_t sum = 0;

    for (uint64_t done = 0; done < n;) {
        size_t group = n - done < IN_FLIGHT ? (size_t)(n - done) : IN_FLIGHT;
        for (size_t i = 0; i < group; i++)
            flying[i] = spawn_goroutine(done + i, &cache);
        for (size_t i = 0; i < group; i++)
            sum += finish_goroutine(flying[i], &cache);
        done += group;
    }
    for (struct stack *next; cache; cache = next) {
        next = cache->next;
        free(cache);
    }
    return sum;
}

struct object {
    uint64_t sync; /* .NET's header of every object: lock and hash code, type */
    const void *type;
};

struct state_machine {
    struct object object;
    int32_t state;
    struct task *awaited;
    uint64_t *sum;
};

struct continuation {
    struct object object;
    struct state_machine *machine;
};

struct task {
    struct object object;
    int32_t id;
    int32_t completed;
    uint64_t (*action)(uint64_t);
    uint64_t argument;
    uint64_t result;
    void *scheduler;
    struct continuation *continuation;
};
_Static_assert(sizeof(struct task) == 64 && sizeof(struct state_machine) == 40 && sizeof(struct continuation) == 24,
               "as stated above");

ALLOCATES static struct task *start_task(uint64_t id) {
    struct task *task = malloc(sizeof *task);

    truth_add(&task_truth, task, sizeof *task);
    *task = (struct task){.id = (int32_t)id, .action = operate, .argument = id};
    return task;
}

ALLOCATES static struct state_machine *box_state_machine(struct task *awaited, uint64_t *sum) {
    struct state_machine *machine = malloc(sizeof *machine);

    truth_add(&machine_truth, machine, sizeof *machine);
    *machine = (struct state_machine){.state = 1, .awaited = awaited, .sum = sum};
    return machine;
}

ALLOCATES static void add_continuation(struct task *task, struct state_machine *machine) {
    struct continuation *continuation = malloc(sizeof *continuation);

    truth_add(&continuation_truth, continuation, sizeof *continuation);
    *continuation = (struct continuation){.machine = machine};
    task->continuation = continuation;
}

static void run_task(struct task *task) {
    task->result = task->action(task->argument);
    task->completed = 1;
    if (task->continuation) {
        struct state_machine *machine = task->continuation->machine;
        *machine->sum += machine->awaited->result;
        free(machine);
        free(task->continuation);
    }
}

static uint64_t run_tasks(uint64_t n) {
    struct task *started[IN_FLIGHT];
    uint64_t sum = 0;

    for (uint64_t done = 0; done < n;) {
        size_t group = n - done < IN_FLIGHT ? (size_t)(n - done) : IN_FLIGHT;
        for (size_t i = 0; i < group; i++)
            started[i] = start_task(done + i);
        run_task(started[0]);
        for (size_t i = 0; i < group; i++) {
            if (started[i]->completed)
                sum += started[i]->result;
            else
                add_continuation(started[i], box_state_machine(started[i], &sum));
        }
        for (size_t i = 0; i < group; i++) {
            if (!started[i]->completed)
                run_task(started[i]);
            free(started[i]);
        }
        done += group;
    }
    return sum;
}

struct thread_arguments {
    pthread_t thread;
    uint64_t argument;
    uint64_t reserved[6];
};

struct thread_result {
    uint64_t argument;
    uint64_t result;
    uint64_t reserved[2];
};
_Static_assert(sizeof(struct thread_arguments) == 64 && sizeof(struct thread_result) == 32, "as stated above");

/* In the new thread. The account is kept by the one who joins it: NULL tells that there was no memory. */
ALLOCATES static void *run_thread(void *given) {
    const struct thread_arguments *arguments = given;
    struct thread_result *result = malloc(sizeof *result);

    if (result)
        *result = (struct thread_result){.argument = arguments->argument, .result = operate(arguments->argument)};
    return result;
}

ALLOCATES static struct thread_arguments *start_thread(uint64_t id) {
    struct thread_arguments *arguments = malloc(sizeof *arguments);

    truth_add(&thread_truth, arguments, sizeof *arguments);
    *arguments = (struct thread_arguments){.argument = id};
    int error = pthread_create(&arguments->thread, NULL, run_thread, arguments);
    if (error) {
        fprintf(stderr, "tasks: a thread can't be started: error %d\n", error);
        exit(1);
    }
    return arguments;
}

static uint64_t join_thread(struct thread_arguments *arguments) {
    void *returned = NULL;
    pthread_join(arguments->thread, &returned);
    struct thread_result *result = returned;

    truth_add(&result_truth, result, sizeof *result);
    uint64_t value = result->result;
    free(result);
    free(arguments);
    return value;
}

static uint64_t run_threads(uint64_t n) {
    struct thread_arguments *started[THREADS];
    uint64_t sum = 0;

    for (uint64_t done = 0; done < n;) {
        size_t group = n - done < THREADS ? (size_t)(n - done) : THREADS;
        for (size_t i = 0; i < group; i++)
            started[i] = start_thread(done + i);
        for (size_t i = 0; i < group; i++)
            sum += join_thread(started[i]);
        done += group;
    }
    return sum;
}

int main(int argc, char **argv) {
    static const char *const variants[] = {"goroutine", "task", "thread", NULL};
    static uint64_t (*const run[])(uint64_t) = {run_goroutines, run_tasks, run_threads};
    static struct workload_number numbers[] = {
        {.option = "--n", .help = "operations", .max = 10000000, .value = 10000},
        {.option = NULL},
    };
    static const struct workload workload = {
        .name = "tasks",
        .about = "Starts many trivial operations as goroutines, tasks or threads and waits for them.",
        .variants = variants,
        .numbers = numbers,
    };
    static const struct truth *const accounts[] = {
        &spawn_truth, &stack_truth, &task_truth, &machine_truth, &continuation_truth, &thread_truth, &result_truth,
    };
    int variant = workload_start(&workload, argc, argv);

    printf("operations %" PRIu64 "\nsum %016" PRIx64 "\n", numbers[0].value, run[variant](numbers[0].value));
    for (size_t i = 0; i < sizeof accounts / sizeof *accounts; i++)
        truth_print(accounts[i]);
    return workload_end();
}
