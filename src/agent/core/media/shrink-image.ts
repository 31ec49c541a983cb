/** Defines the port that makes images smaller. */

import type { ImagePart } from '../message.ts'

/** Returns undefined for an unknown format, or an image that cannot be made smaller. */
export type ShrinkImage = (image: ImagePart) => Promise<ImagePart | undefined>

/**
 * The size that every provider accepts. The strictest ones allow 2000 pixels per side and 3.75 MB; the lower number of
 * bytes lets several images fit into one request.
 */
export const smallImage = { side: 2_000, bytes: 1_000_000 } as const
