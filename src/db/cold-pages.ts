/** Reads the text of old pages from R2 (cool-pages.ts). */

/** In place of the JSON of the entries, which begins with a bracket. The key in R2 follows. */
export const coldMark = 'cold:'
const maxParallelReads = 5

type ColdBody = { readonly body?: unknown }
const isCold = ({ body }: ColdBody): boolean => typeof body === 'string' && body.startsWith(coldMark)

/** Restores the text of rows that were read. Throws when it cannot be read. */
export async function warmRows<T>(rows: readonly T[], blobs: R2Bucket): Promise<readonly T[]> {
  if (!rows.some((row) => isCold(row as ColdBody))) return rows
  const warmed = [...rows]
  const open = rows.flatMap((row, n) => (isCold(row as ColdBody) ? [n] : []))
  const readNext = async () => {
    for (let n = open.shift(); n !== undefined; n = open.shift()) {
      const row = rows[n] as T & { readonly body: string }
      warmed[n] = { ...row, body: await readCold(row.body.slice(coldMark.length), blobs) }
    }
  }
  await Promise.all(Array.from({ length: maxParallelReads }, readNext))
  return warmed
}

async function readCold(name: string, blobs: R2Bucket): Promise<string> {
  const text = await (await blobs.get(name))?.text()
  if (text === undefined) throw new Error(`The text of an old page is not in BLOBS: ${name}`)
  return text
}
