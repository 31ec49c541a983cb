/** Makes the version of a file's content, as the header `ETag` has it. */

import { sha256Hex } from './hash.ts'

export const etagOf = async (bytes: Uint8Array): Promise<string> => `"${await sha256Hex(bytes, 16)}"`
