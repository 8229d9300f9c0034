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

/* __libc_start_main: the next one, with the same arguments (six in registers, one on the stack) and no frame of ours. */
    .globl __libc_start_main
    .type __libc_start_main, @function
__libc_start_main:
    .cfi_startproc
    pushq %rdi
    pushq %rsi
    pushq %rdx
    pushq %rcx
    pushq %r8
    pushq %r9
    .cfi_def_cfa_offset 56
    subq $8, %rsp
    .cfi_def_cfa_offset 64
    call life_before_main
    addq $8, %rsp
    .cfi_def_cfa_offset 56
    popq %r9
    popq %r8
    popq %rcx
    popq %rdx
    popq %rsi
    popq %rdi
    .cfi_def_cfa_offset 8
    jmp *%rax
    .cfi_endproc
    .size __libc_start_main, . - __libc_start_main

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

    .section .note.GNU-stack, "", @progbits
