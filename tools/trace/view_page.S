/* SPDX-License-Identifier: MIT */
/* The page of weft-trace view: what comes before the data, and after it. */
	.section .rodata
	.globl view_page_head, view_page_head_end
	.globl view_page_tail, view_page_tail_end
view_page_head:
	.incbin "view_head.html"
view_page_head_end:
view_page_tail:
	.incbin "view_tail.html"
view_page_tail_end:
	.section .note.GNU-stack, "", %progbits
