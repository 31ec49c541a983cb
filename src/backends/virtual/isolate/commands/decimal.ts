/** Implements exact decimal numbers for bc: an integer and the number of its decimal places. */

export type Decimal = { readonly digits: bigint; readonly scale: number }

/** Limit of decimal places; more would take too long to compute. */
export const maxScale = 1000
const maxPower = 10_000n

const ten = (zeros: number): bigint => 10n ** BigInt(zeros)

export const rescale = ({ digits, scale }: Decimal, to: number): Decimal => ({
  digits: to >= scale ? digits * ten(to - scale) : digits / ten(scale - to),
  scale: to,
})

export function decimal(text: string): Decimal {
  const [whole = '', part = ''] = text.split('.')
  return { digits: BigInt(whole + part || '0'), scale: part.length }
}

const align = (a: Decimal, b: Decimal): readonly [bigint, bigint, number] => {
  const scale = Math.max(a.scale, b.scale)
  return [rescale(a, scale).digits, rescale(b, scale).digits, scale]
}

export function add(a: Decimal, b: Decimal): Decimal {
  const [left, right, scale] = align(a, b)
  return { digits: left + right, scale }
}

export const negate = ({ digits, scale }: Decimal): Decimal => ({ digits: -digits, scale })

export function multiply(a: Decimal, b: Decimal, scale: number): Decimal {
  const whole = { digits: a.digits * b.digits, scale: a.scale + b.scale }
  return rescale(whole, Math.min(whole.scale, Math.max(scale, a.scale, b.scale)))
}

export function divide(a: Decimal, b: Decimal, scale: number): Decimal {
  if (b.digits === 0n) throw new Error('divide by zero')
  return { digits: (a.digits * ten(scale + b.scale)) / (b.digits * ten(a.scale)), scale }
}

/** Remainder of `divide` at this scale; with scale 0 the integer remainder. */
export function remainder(a: Decimal, b: Decimal, scale: number): Decimal {
  const resultScale = Math.max(scale + b.scale, a.scale)
  const quotient = divide(a, b, scale)
  const product = { digits: quotient.digits * b.digits, scale: quotient.scale + b.scale }
  return rescale(add(a, negate(product)), resultScale)
}

export function power(a: Decimal, b: Decimal, scale: number): Decimal {
  const exponent = rescale(b, 0).digits
  if (exponent > maxPower || exponent < -maxPower) throw new Error('exponent too large')
  if (exponent < 0n) return divide({ digits: 1n, scale: 0 }, power(a, { digits: -exponent, scale: 0 }, scale), scale)
  const whole = { digits: a.digits ** exponent, scale: a.scale * Number(exponent) }
  return rescale(whole, Math.min(whole.scale, Math.max(scale, a.scale)))
}

export function squareRoot(a: Decimal, scale: number): Decimal {
  if (a.digits < 0n) throw new Error('square root of a negative number')
  const to = Math.max(scale, a.scale)
  const square = rescale(a, to * 2).digits
  if (square < 2n) return { digits: square, scale: to }
  let guess = 1n << BigInt(Math.ceil(square.toString(2).length / 2))
  for (;;) {
    const next = (guess + square / guess) >> 1n
    if (next >= guess) return { digits: guess, scale: to }
    guess = next
  }
}

export function compare(a: Decimal, b: Decimal): number {
  const [left, right] = align(a, b)
  if (left === right) return 0
  return left < right ? -1 : 1
}

export function formatDecimal({ digits, scale }: Decimal): string {
  const text = (digits < 0n ? -digits : digits).toString().padStart(scale + 1, '0')
  const whole = text.slice(0, text.length - scale).replace(/^0$/, scale > 0 ? '' : '0')
  if (digits === 0n) return '0'
  return `${digits < 0n ? '-' : ''}${whole}${scale > 0 ? `.${text.slice(text.length - scale)}` : ''}`
}
