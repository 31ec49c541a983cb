/** Renders a formula as text: its TeX where the page has it, and its MathML otherwise. The result is HTML text. */

import { Parser } from 'htmlparser2'

const annotation = /<annotation\b[^>]{0,200}application\/x-tex[^>]{0,200}>([^<]{1,20000})<\/annotation>/i
const texScript = /<script\b[^>]{0,200}math\/tex[^>]{0,200}>([^<]{1,20000})<\/script>/i
const alternative = /<math\b[^<>]{0,2000}?\balttext\s{0,9}=\s{0,9}"([^"]{1,20000})"/i

/** Empty: the markup has neither TeX nor MathML. */
export function renderMath(html: string): string {
  const tex = (annotation.exec(html) ?? texScript.exec(html) ?? alternative.exec(html))?.[1]
  if (tex !== undefined) return tex.trim().replace(/^\{\\displaystyle\s?(.*)\}$/s, '$1')
  return /<math\b/i.test(html) ? renderMathMl(html) : ''
}

/** The signs between the children of an element, and around them. */
const layouts: Readonly<Record<string, readonly [before: string, between: string, after: string]>> = {
  mfrac: ['(', ')/(', ')'],
  msup: ['', '^(', ')'],
  msub: ['', '_(', ')'],
  mover: ['', '^(', ')'],
  munder: ['', '_(', ')'],
  msqrt: ['√(', '', ')'],
  mroot: ['√(', ', ', ')'],
  mtr: ['', ', ', '; '],
}

function renderMathMl(html: string): string {
  let text = ''
  const open: { readonly name: string; children: number }[] = []
  let mathDepth = 0
  const parser = new Parser(
    {
      onopentagname(name) {
        const parent = open.at(-1)
        if (mathDepth > 0 && parent && parent.children++ > 0) text += layouts[parent.name]?.[1] ?? ''
        if (name === 'math') mathDepth++
        open.push({ name, children: 0 })
        if (mathDepth > 0) text += layouts[name]?.[0] ?? ''
      },
      onclosetag(name) {
        open.pop()
        if (mathDepth > 0) text += layouts[name]?.[2] ?? ''
        if (name === 'math') mathDepth--
      },
      ontext(part) {
        if (mathDepth > 0) text += part.trim()
      },
    },
    { decodeEntities: false },
  )
  parser.end(html)
  return text.replaceAll(/\((\w)\)/g, '$1').trim()
}
