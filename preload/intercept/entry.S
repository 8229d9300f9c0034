/* SPDX-License-Identifier: Apache-2.0 */
/* record_entry(p, size, return address, CFA): the way from a hook's fast path to hooks_record(), which is given rbp as it is
 * in the caller of the hook (the hooks leave it alone: -ffixed-rbp). Realigns the stack, since callers written in assembly
 * don't always keep to the ABI. Returns p. */
    .text
    .globl record_entry
    .hidden record_entry
    .type record_entry, @function
record_entry:
    .cfi_startproc
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq %rbp, %r8
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    andq $-16, %rsp
    subq $16, %rsp
    movq %rdi, (%rsp)
    call hooks_record
    movq (%rsp), %rax
    leave
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_endproc
    .size record_entry, . - record_entry

/* Calls a C function and leaves all registers that carry arguments as they were; its result is in rax. */
    .macro with_arguments_kept function
    pushq %rdi
    pushq %rsi
    pushq %rdx
    pushq %rcx
    pushq %r8
    pushq %r9
    subq $8, %rsp
    .cfi_def_cfa_offset 64
    call \function
    addq $8, %rsp
    popq %r9
    popq %r8
    popq %rcx
    popq %rdx
    popq %rsi
    popq %rdi
    .cfi_def_cfa_offset 8
    .endm

    .macro exported name
    .globl \name
    .type \name, @function
\name:
    .cfi_startproc
    .endm

    .macro end name
    .cfi_endproc
    .size \name, . - \name
    .endm

/* These hand on arguments of unknown number and type, some on the stack, and so leave no frame of ours.
 *
 * __libc_start_main: the program is about to begin. */
    exported __libc_start_main
    with_arguments_kept life_before_main
    jmp *%rax
    end __libc_start_main

/* Seccomp: prctl(PR_SET_SECCOMP, mode, filter), seccomp(op, flags, args) by syscall(), or the former by it. From then on a system
 * call may be the process's death. Only calls that can succeed count: libraries ask what the kernel can do by calls that can't
 * (no filter, strict mode with flags), and by other operations. */
#define PR_SET_SECCOMP 22
#define MODE_STRICT 1
#define MODE_FILTER 2
#define NR_PRCTL 157
#define NR_SECCOMP 317
#define OP_STRICT 0
#define OP_FILTER 1

/* Sets life_sandboxed if `mode` is strict, or filter with `filter` not 0. */
    .macro watch_mode mode filter
    cmpq $MODE_STRICT, \mode
    je 8f
    cmpq $MODE_FILTER, \mode
    jne 9f
    testq \filter, \filter
    jz 9f
8:  movl $1, life_sandboxed(%rip)
9:
    .endm

    exported prctl
    cmpl $PR_SET_SECCOMP, %edi
    jne 1f
    watch_mode %rsi, %rdx
1:  movq next_prctl(%rip), %rax
    testq %rax, %rax
    jnz 2f
    with_arguments_kept next_find_prctl
2:  jmp *%rax
    end prctl

/* syscall() returns a long. */
    .macro function_of_int name
    subq $8, %rsp
    .cfi_def_cfa_offset 16
    call ends_\name
    addq $8, %rsp
    .cfi_def_cfa_offset 8
    cltq
    ret
    .endm

/* The ends of a process are the functions of ends.c, however they are called. */
#define NR_EXECVE 59
#define NR_EXIT_GROUP 231
#define NR_EXECVEAT 322

    exported syscall
    cmpl $NR_EXIT_GROUP, %edi
    je .Lexit_group
    cmpl $NR_EXECVE, %edi
    je .Lexecve
    cmpl $NR_EXECVEAT, %edi
    je .Lexecveat
    cmpl $NR_PRCTL, %edi
    jne 1f
    cmpl $PR_SET_SECCOMP, %esi
    jne 5f
    watch_mode %rdx, %rcx
    jmp 5f
1:  cmpl $NR_SECCOMP, %edi
    jne 5f
    cmpl $OP_FILTER, %esi
    je 2f
    cmpl $OP_STRICT, %esi
    jne 5f
    movq %rdx, %rax
    orq %rcx, %rax
    jnz 5f
    jmp 3f
2:  testq %rcx, %rcx
    jz 5f
3:  movl $1, life_sandboxed(%rip)
5:  movq next_syscall(%rip), %rax
    testq %rax, %rax
    jnz 6f
    with_arguments_kept next_find_syscall
6:  jmp *%rax

.Lexit_group:
    movl %esi, %edi
    jmp ends__exit

.Lexecve:
    movq %rsi, %rdi
    movq %rdx, %rsi
    movq %rcx, %rdx
    function_of_int execve

.Lexecveat:
    movl %esi, %edi
    movq %rdx, %rsi
    movq %rcx, %rdx
    movq %r8, %rcx
    movq %r9, %r8
    function_of_int execveat
    end syscall

/* stack_call(top, fn, arg): calls fn(arg) with the stack pointer at `top`, a multiple of 16, and comes back. */
    .globl stack_call
    .hidden stack_call
    .type stack_call, @function
stack_call:
    .cfi_startproc
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    movq %rdi, %rsp
    movq %rdx, %rdi
    call *%rsi
    leave
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_endproc
    .size stack_call, . - stack_call

/* clone_call(flags, stack_top, fn, arg): clone(2); the new process calls fn(arg) and ends with status 0. */
    .globl clone_call
    .hidden clone_call
    .type clone_call, @function
clone_call:
    .cfi_startproc
    movq %rdx, %r8
    movq %rcx, %r9
    xorl %edx, %edx
    xorl %r10d, %r10d
    movl $56, %eax
    syscall
    testq %rax, %rax
    jz 1f
    ret
1:  .cfi_undefined %rip
    xorl %ebp, %ebp
    movq %r9, %rdi
    call *%r8
    xorl %edi, %edi
    movl $60, %eax
    syscall
    hlt
    .cfi_endproc
    .size clone_call, . - clone_call

    .section .note.GNU-stack, "", @progbits
