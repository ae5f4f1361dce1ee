/* SPDX-License-Identifier: MIT */
/*
 * Where a new goroutine begins: frame_switch has set sp to a 16-aligned top
 * of stack, x29 to 0 and left the frame in x1. The unwinder is told that
 * there is no caller.
 */
	.text
	.globl	frame_entry
	.hidden	frame_entry
	.type	frame_entry, %function
frame_entry:
	.cfi_startproc
	.cfi_undefined x30
	mov	x0, x1
	mov	x30, xzr
	bl	goroutine_main
	brk	#1			/* it never returns */
	.cfi_endproc
	.size	frame_entry, . - frame_entry
	.section .note.GNU-stack, "", %progbits
