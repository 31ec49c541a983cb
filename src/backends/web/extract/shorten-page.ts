/** Shortens the text of a page: its head and its tail, cut at ends of lines, and where the full text is. */

const headShare = 0.75
const maxStoredChars = 2_000_000

/** `store` keeps the full text as a file and returns its path. It is called for long texts only. */
export async function shortenPage(
  text: string,
  maxChars: number,
  store: (text: string) => Promise<string>,
): Promise<string> {
  if (text.length <= maxChars) return text
  const path = await store(text.slice(0, maxStoredChars))
  const head = beforeLineEnd(text.slice(0, Math.floor(maxChars * headShare)))
  const tail = afterLineEnd(text.slice(-Math.ceil(maxChars * (1 - headShare))))
  const left = text.length - head.length - tail.length
  return `${head}\n\n[… ${left} of ${text.length} characters are left out here …]\n\n${tail}\n\n[The full text is in ${path}. Read the part left out with read_file.]`
}

/** The last or first line is only cut when it is most of the text. */
function beforeLineEnd(text: string): string {
  const at = text.lastIndexOf('\n')
  return at > text.length / 2 ? text.slice(0, at) : text
}

function afterLineEnd(text: string): string {
  const at = text.indexOf('\n')
  return at >= 0 && at < text.length / 2 ? text.slice(at + 1) : text
}
