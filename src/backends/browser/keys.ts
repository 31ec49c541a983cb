/** Describes the keys that a model may press, as the DevTools protocol wants them. */

type Key = { readonly key: string; readonly code: string; readonly keyCode: number; readonly text?: string }

const named: Readonly<Record<string, readonly [code: string, keyCode: number, text?: string]>> = {
  Enter: ['Enter', 13, '\r'],
  Tab: ['Tab', 9],
  Escape: ['Escape', 27],
  Backspace: ['Backspace', 8],
  Delete: ['Delete', 46],
  Insert: ['Insert', 45],
  Home: ['Home', 36],
  End: ['End', 35],
  PageUp: ['PageUp', 33],
  PageDown: ['PageDown', 34],
  ArrowLeft: ['ArrowLeft', 37],
  ArrowUp: ['ArrowUp', 38],
  ArrowRight: ['ArrowRight', 39],
  ArrowDown: ['ArrowDown', 40],
  Space: ['Space', 32, ' '],
  ...Object.fromEntries(Array.from({ length: 12 }, (_, n) => [`F${n + 1}`, [`F${n + 1}`, 112 + n] as const])),
}
const aliases: Readonly<Record<string, string>> = {
  esc: 'Escape',
  return: 'Enter',
  del: 'Delete',
  up: 'ArrowUp',
  down: 'ArrowDown',
  left: 'ArrowLeft',
  right: 'ArrowRight',
  ' ': 'Space',
}
const modifiers: Readonly<Record<string, number>> = {
  alt: 1,
  control: 2,
  ctrl: 2,
  meta: 4,
  cmd: 4,
  command: 4,
  shift: 8,
}

/** Returns the events of a key such as `Enter`, `a` or `Control+A`; undefined when there is no such key. */
export function keyEvents(name: string): readonly Readonly<Record<string, unknown>>[] | undefined {
  const parts = name.length > 1 ? name.split('+').map((part) => part.trim()) : [name]
  const last = parts.pop() ?? ''
  const bits = parts.map((part) => modifiers[part.toLowerCase()])
  const key = findKey(last)
  if (!key || bits.includes(undefined)) return undefined
  const sum = bits.reduce<number>((all, bit) => all | (bit ?? 0), 0)
  const isCommand = (sum & ~8) !== 0
  const base = {
    key: key.key,
    code: key.code,
    windowsVirtualKeyCode: key.keyCode,
    nativeVirtualKeyCode: key.keyCode,
    modifiers: sum,
  }
  const text = isCommand ? undefined : key.text
  const selectAll = (sum & 6) !== 0 && key.key.toLowerCase() === 'a' ? { commands: ['selectAll'] } : {}
  return [
    { type: text === undefined ? 'rawKeyDown' : 'keyDown', ...base, ...(text !== undefined && { text }), ...selectAll },
    { type: 'keyUp', ...base },
  ]
}

function findKey(name: string): Key | undefined {
  const wanted = aliases[name.toLowerCase()] ?? name
  const found = Object.keys(named).find((known) => known.toLowerCase() === wanted.toLowerCase())
  const [code = '', keyCode = 0, text] = (found !== undefined && named[found]) || []
  if (found !== undefined)
    return { key: found === 'Space' ? ' ' : found, code, keyCode, ...(text !== undefined && { text }) }
  return [...name].length === 1 ? findCharacter(name) : undefined
}

function findCharacter(character: string): Key {
  const upper = character.toUpperCase()
  const code = /[A-Z]/.test(upper) ? `Key${upper}` : /\d/.test(upper) ? `Digit${upper}` : ''
  return { key: character, code, keyCode: code ? upper.charCodeAt(0) : 0, text: character }
}
