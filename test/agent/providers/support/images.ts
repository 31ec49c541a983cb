/** Creates image parts from the first bytes of a file. */

export const base64 = (...bytes: readonly number[]) => btoa(String.fromCharCode(...bytes))
export const image = (data: string, mediaType = 'image/png') => ({ type: 'image', mediaType, data }) as const
const toBytes32 = (n: number) => [n >>> 24, (n >>> 16) & 255, (n >>> 8) & 255, n & 255]
export const toCharCodes = (text: string) => [...text].map((letter) => letter.charCodeAt(0))
/** The first bytes of a PNG. `n` makes images of equal size different. */
export const png = (width: number, height = 1, n = 0) =>
  image(
    base64(
      0x89,
      ...toCharCodes('PNG\r\n\u001a\n'),
      ...toBytes32(13),
      ...toCharCodes('IHDR'),
      ...toBytes32(width),
      ...toBytes32(height),
      n,
      0,
    ),
  )
