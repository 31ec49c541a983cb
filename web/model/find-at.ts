/** Finds the first message at or after a time. Numbers of messages grow with time, and some are missing. */

type Stamped = { readonly seq: number; readonly at: number }

/**
 * `load` returns the first message with a number from `seq` on. `last`: the highest number. The newest message is found for
 * a time behind all.
 */
export async function findSeqAt(
  time: number,
  last: number,
  load: (seq: number) => Promise<Stamped | undefined>,
): Promise<number> {
  let [low, high] = [1, last]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const found = await load(middle)
    if (!found || found.at >= time) high = middle
    else low = Math.min(high, found.seq + 1)
  }
  return (await load(low))?.seq ?? last
}
