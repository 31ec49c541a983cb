import { describe, expect, it } from 'vitest'
import { nextWindow, parseWindow } from '#agent/providers/catalog/context-window.ts'

describe('nextWindow() and parseWindow()', () => {
  it.each<readonly [number, string, number | undefined]>([
    [256_000, 'prompt is too long', 128_000],
    [128_000, '', 64_000],
    [64_000, '', 32_000],
    [8_000, '', undefined],
    [200_000, '', 128_000],
    [256_000, "This model's maximum context length is 131072 tokens. However, you requested 150000.", 131_072],
    [256_000, 'prompt is too long: 210000 tokens > 200000 maximum', 200_000],
    [256_000, 'max_model_len 40,960 exceeded', 40_960],
    [64_000, 'the context length is 131072 tokens', 32_000],
  ])('continue after %i and the message %j with %s', (window, message, next) => {
    expect(nextWindow(window, message)).toBe(next)
  })

  it.each([
    ['input is too long', undefined],
    ['error 400', undefined],
    ['maximum of 12 images', undefined],
  ])('find no window in %j', (message, expected) => {
    expect(parseWindow(message)).toBe(expected)
  })
})
