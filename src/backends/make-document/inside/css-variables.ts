/** Replaces CSS variables and mixed colours in an SVG by their values, for a renderer that knows neither. */

const definition = /(?<![\w-])(--[\w-]{1,60})(?![\w-])\s{0,20}:\s{0,20}([^;{}"<>]{1,300})/g
const use = /var\(\s{0,9}(--[\w-]{1,60})\s{0,9}(?:,\s{0,9}([^()]{0,300}))?\)/g
const mix = /color-mix\(in srgb,\s{0,9}#([0-9a-f]{6})\s{1,9}(\d{1,3})%,\s{0,9}#([0-9a-f]{6})\)/gi

/** Nested uses are resolved from the inside. A definition that names itself ends here. */
const maxPasses = 12
const maxChars = 4_000_000

export function resolveVariables(svg: string): string {
  const values = new Map([...svg.matchAll(definition)].map(([, name = '', value = '']) => [name, value.trim()]))
  let text = svg
  for (let pass = 0; pass < maxPasses && text.length < maxChars; pass++) {
    const next = text
      .replace(use, (whole, name: string, fallback?: string) => values.get(name) ?? fallback ?? whole)
      .replace(mix, (_, first: string, percent: string, second: string) => mixColours(first, second, Number(percent)))
    if (next === text) break
    text = next
  }
  return text
}

function mixColours(first: string, second: string, percent: number): string {
  const share = Math.min(100, percent) / 100
  const channel = (hex: string, at: number) => Number.parseInt(hex.slice(at, at + 2), 16)
  const mixed = [0, 2, 4].map((at) => Math.round(channel(first, at) * share + channel(second, at) * (1 - share)))
  return `#${mixed.map((value) => value.toString(16).padStart(2, '0')).join('')}`
}
