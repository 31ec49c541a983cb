/** Lets a test file answer requests before the scripted models do, also those of SDK clients that exist already. */

type Answerer = (url: string, input: RequestInfo | URL, init?: RequestInit) => Promise<Response> | undefined

const answerers = new Set<Answerer>()
const behind = globalThis.fetch

globalThis.fetch = (input: RequestInfo | URL, init?: RequestInit) => {
  const url = input instanceof Request ? input.url : String(input)
  for (const answer of [...answerers].toReversed()) {
    const answered = answer(url, input, init)
    if (answered) return answered
  }
  return behind(input, init)
}

/** Asked before those that were added earlier. Returns the function that ends it. */
export function answerRequests(answer: Answerer): () => void {
  answerers.add(answer)
  return () => void answerers.delete(answer)
}
