/** Decides which elements of a page are content. Used where a page is no article, so that it is converted as a whole. */

import type { ElementNode, TransformPlugin } from '@mdream/js'
import { Parser } from 'htmlparser2'

/** Elements without any text for people. */
const withoutText = new Set(['head', 'title', 'script', 'style', 'noscript', 'template', 'svg', 'canvas', 'iframe'])
/** Elements that are no content of a page, except in these places. */
const aside: Readonly<Record<string, RegExp | undefined>> = {
  nav: undefined,
  form: undefined,
  dialog: undefined,
  select: undefined,
  // Questions that open their answer, and heads of columns that sort.
  button: /^(?:h[1-6]|summary|dt|th)$/,
  // The author of an article or of a quote.
  footer: /^(?:article|blockquote)$/,
  aside: undefined,
}
const maxAncestors = 6
/** Notes of documentation, and tables of facts. */
const noteClass =
  /(?:^|[\s_-])(?:admonition|callout|note|tip|hint|warning|caution|danger|important|info|infobox|alert)(?:$|[\s_-])/i

type Omission = { readonly hasAside: boolean }

/** Omits what people do not see, and without `hasAside` also what is around the content. */
export function omitHidden({ hasAside }: Omission): TransformPlugin {
  const omitted = new WeakSet<ElementNode>()
  const omits = (element: ElementNode): boolean => {
    const isOmitted =
      omitted.has(element) ||
      (element.parent ? omitted.has(element.parent) : false) ||
      isHidden(element) ||
      (!hasAside && isAside(element))
    if (isOmitted) omitted.add(element)
    return isOmitted
  }
  return {
    excludesOverflowSubtree: omits,
    beforeNodeProcess({ node }) {
      const isText = node.type === 2
      return (isText ? node.parent && omitted.has(node.parent) : node.type === 1 && omits(node as ElementNode))
        ? { skip: true }
        : undefined
    },
  }
}

function isHidden({ name, attributes }: ElementNode): boolean {
  if (withoutText.has(name)) return true
  const hidden = attributes['hidden']
  if (hidden !== undefined && hidden.toLowerCase() !== 'until-found') return true
  return /(?:display\s{0,9}:\s{0,9}none|visibility\s{0,9}:\s{0,9}hidden)/i.test(attributes['style'] ?? '')
}

function isAside(element: ElementNode): boolean {
  const { name, attributes } = element
  const { class: classes = '', role, style = '' } = attributes
  if ((attributes['aria-hidden'] ?? 'false') !== 'false') return true
  if (/position\s{0,9}:\s{0,9}fixed/i.test(style)) return true
  if (!(name in aside)) return false
  if (name === 'aside') return role !== 'note' && !noteClass.test(classes)
  return !isWithin(element, aside[name])
}

function isWithin(element: ElementNode, names: RegExp | undefined): boolean {
  let [above, left] = [element.parent, names ? maxAncestors : 0]
  for (; above && left > 0; left--, above = above.parent) if (names?.test(above.name)) return true
  return false
}

const controls = new Set([
  'button',
  'select',
  'label',
  'legend',
  'textarea',
  'datalist',
  'nav',
  'footer',
  ...withoutText,
])
const typedField = /^(?:text|search|email|password|tel|url)$/i
/** A form with fields to type in and less text is only a form. */
const minFormChars = 300

const isTyped = (name: string, type: string): boolean =>
  name === 'textarea' || (name === 'input' && typedField.test(type))

type OpenForm = { readonly at: number; readonly depth: number; chars: number; hasField: boolean }

/**
 * Turns forms and templates that are the content of their page into plain elements: some servers wrap whole pages into one
 * form, shops put the price into the form of the cart, and elements of their own have their content in a template.
 */
export function unwrapContent(html: string): string {
  if (!/<form\b|shadowrootmode/i.test(html)) return html
  const found: number[] = []
  const shadows: boolean[] = []
  const open: OpenForm[] = []
  let [depth, controlDepth] = [0, 0]
  const parser = new Parser(
    {
      onopentag(name, { type = 'text', shadowrootmode }) {
        depth++
        const form = open.at(-1)
        if (form && isTyped(name, type)) form.hasField = true
        const isShadow = name === 'template' && shadowrootmode !== undefined
        if (name === 'template') shadows.push(isShadow)
        if (isShadow) found.push(parser.startIndex)
        if (controlDepth > 0 || (controls.has(name) && !isShadow)) controlDepth++
        if (name === 'form') open.push({ at: parser.startIndex, depth, chars: 0, hasField: false })
      },
      ontext(text) {
        const form = open.at(-1)
        if (form && controlDepth === 0 && depth > form.depth) form.chars += text.trim().length
      },
      onclosetag(name) {
        if (name === 'form') {
          const form = open.pop()
          if (form && form.chars >= (form.hasField ? minFormChars : 1)) found.push(form.at, parser.startIndex)
        } else if (name === 'template' && shadows.pop()) found.push(parser.startIndex)
        depth--
        if (controlDepth > 0) controlDepth--
      },
    },
    { decodeEntities: false },
  )
  parser.end(html)
  return replaceTags(html, found)
}

/** Positions stay, because the new names have the length of the old ones. */
function replaceTags(html: string, places: readonly number[]): string {
  const pieces: string[] = []
  let done = 0
  for (const at of places.toSorted((one, other) => one - other)) {
    const tag = /^<\/?(?:form|template)\b/i.exec(html.slice(at, at + 11))?.[0]
    if (tag === undefined || at < done) continue
    pieces.push(
      html.slice(done, at),
      tag.replace(/[a-z]+/i, (name) => 'div'.padEnd(name.length)),
    )
    done = at + tag.length
  }
  return pieces.join('') + html.slice(done)
}
