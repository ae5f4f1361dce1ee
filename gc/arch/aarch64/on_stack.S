/* SPDX-License-Identifier: MIT */
/* void gc_on_stack(void (*fn)(void *arg), void *arg, void *top): heap.h. */
	.section .note.GNU-stack,"",%progbits
	.text
	.globl	gc_on_stack
	.hidden	gc_on_stack
	.type	gc_on_stack, %function
gc_on_stack:
	.cfi_startproc
	stp	x29, x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset 29, -16
	.cfi_offset 30, -8
	mov	x29, sp
	.cfi_def_cfa_register 29
	mov	x9, x0
	mov	x0, x1
	mov	sp, x2
	blr	x9
	mov	sp, x29
	ldp	x29, x30, [sp], #16
	.cfi_def_cfa 31, 0
	ret
	.cfi_endproc
	.size	gc_on_stack, . - gc_on_stack
