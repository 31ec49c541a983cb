/** Making images smaller: a port, because it takes a machine that knows pictures. */

import type { ImagePart } from './message.ts'

/** Undefined when it cannot be made smaller, or is no picture that is known. */
export type ShrinkImage = (image: ImagePart) => Promise<ImagePart | undefined>

/**
 * What every provider takes: the strictest allow 2000 pixels a side where there are many images, and
 * 3.75 MB. What comes out is well below, so that several fit into one request.
 */
export const smallImage = { side: 2_000, bytes: 1_000_000 } as const
