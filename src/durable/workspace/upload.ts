/** Uploads a stream of unknown length to R2 in parts, one in memory at a time. */

/** All parts but the last must have the same size. */
const partBytes = 8 * 1024 * 1024

/** Returns the number of bytes. */
export async function uploadInParts(blobs: R2Bucket, key: string, chunks: AsyncIterable<Uint8Array>): Promise<number> {
  const part = new Uint8Array(partBytes)
  let [filled, sum] = [0, 0]
  let parts: R2MultipartUpload | undefined
  const done: R2UploadedPart[] = []
  const send = async () => {
    parts ??= await blobs.createMultipartUpload(key)
    done.push(await parts.uploadPart(done.length + 1, part.slice(0, filled)))
    filled = 0
  }
  const take = async (chunk: Uint8Array): Promise<void> => {
    const piece = chunk.subarray(0, partBytes - filled)
    part.set(piece, filled)
    filled += piece.byteLength
    if (filled === partBytes) await send()
    if (piece.byteLength < chunk.byteLength) await take(chunk.subarray(piece.byteLength))
  }
  try {
    for await (const chunk of chunks) {
      sum += chunk.byteLength
      await take(chunk)
    }
    if (!parts) await blobs.put(key, part.slice(0, filled))
    else {
      if (filled) await send()
      await parts.complete(done)
    }
    return sum
  } catch (error) {
    await parts?.abort()
    throw error
  }
}
