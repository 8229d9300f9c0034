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

/* prctl(PR_SET_SECCOMP), and syscall() of it or of seccomp: from now on a system call may be the process's death. */
#define PR_SET_SECCOMP 22
#define NR_PRCTL 157
#define NR_SECCOMP 317

    exported prctl
    cmpl $PR_SET_SECCOMP, %edi
    jne 1f
    movl $1, life_sandboxed(%rip)
1:  movq next_prctl(%rip), %rax
    testq %rax, %rax
    jnz 2f
    with_arguments_kept next_find_prctl
2:  jmp *%rax
    end prctl

    exported syscall
    cmpl $NR_SECCOMP, %edi
    je 1f
    cmpl $NR_PRCTL, %edi
    jne 2f
    cmpl $PR_SET_SECCOMP, %esi
    jne 2f
1:  movl $1, life_sandboxed(%rip)
2:  movq next_syscall(%rip), %rax
    testq %rax, %rax
    jnz 3f
    with_arguments_kept next_find_syscall
3:  jmp *%rax
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
