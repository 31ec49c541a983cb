/** Draws the tree of a formula as elements. Loaded when the first formula is shown. */

import { h, type VNode } from 'preact'
import { type MathNode, readMath } from './math-tree.ts'

const draw = ({ type, props, children }: MathNode): VNode =>
  h(type as string, props as object, ...children.map((child) => (typeof child === 'string' ? child : draw(child))))

/** Undefined for what is no TeX. */
export function drawMath(text: string, isBlock: boolean): VNode | undefined {
  const tree = readMath(text, isBlock)
  return tree && draw(tree)
}
