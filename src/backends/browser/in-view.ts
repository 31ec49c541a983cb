/** Lists the elements in view that a person could use: for pages whose tree is too large. */

import type { Page } from './page.ts'

const maxListed = 100

/** Runs in the page. It keeps the elements in a list, whose nodes are described afterwards. */
const collect = `(() => {
  const wanted = 'h1,h2,h3,a[href],button,input,select,textarea,summary,[role=button],[role=link],[role=checkbox],[role=tab],[role=menuitem],[contenteditable=""],[contenteditable=true],[onclick]'
  const isInView = (element) => {
    const { top, bottom, left, right, width, height } = element.getBoundingClientRect()
    return width > 0 && height > 0 && bottom > 0 && right > 0 && top < innerHeight && left < innerWidth
  }
  const found = []
  for (const element of document.querySelectorAll(wanted)) {
    if (isInView(element)) found.push(element)
    if (found.length >= ${maxListed}) break
  }
  return found
})()`

const describe = `function () {
  const isSecret = this.type === 'password'
  const label = this.getAttribute('aria-label') || this.labels?.[0]?.innerText || (isSecret ? '' : this.innerText || this.value) || this.placeholder || this.title || ''
  return [this.tagName.toLowerCase(), String(label).replace(/\\s+/g, ' ').trim().slice(0, 200)]
}`

type RemoteObject = { readonly objectId?: string; readonly value?: unknown }
type Property = { readonly name: string; readonly value?: RemoteObject }

export async function listInView(page: Page): Promise<readonly string[]> {
  const contextId = await page.world()
  const list = await page.send<{ result: RemoteObject }>('Runtime.evaluate', { expression: collect, contextId })
  const { result } = await page.send<{ result: readonly Property[] }>('Runtime.getProperties', {
    objectId: list.result.objectId,
    ownProperties: true,
  })
  const elements = result.filter(({ name }) => /^\d+$/.test(name)).flatMap(({ value }) => value?.objectId ?? [])
  return Promise.all(elements.map((objectId) => describeElement(page, objectId)))
}

async function describeElement(page: Page, objectId: string): Promise<string> {
  const [{ node }, { result }] = await Promise.all([
    page.send<{ node: { backendNodeId: number } }>('DOM.describeNode', { objectId }),
    page.send<{ result: RemoteObject }>('Runtime.callFunctionOn', {
      objectId,
      functionDeclaration: describe,
      returnByValue: true,
    }),
  ])
  const [tag = '', label = ''] = (result.value ?? []) as readonly string[]
  return `- ${tag} ${JSON.stringify(label)} [ref=e${node.backendNodeId}]`
}
