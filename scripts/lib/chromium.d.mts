type Variables = Readonly<Record<string, string | undefined>>
export function listChromiums(variables?: Variables): readonly string[]
export function findChromium(variables?: Variables): string | undefined
export const addressFieldFeatures: readonly string[]
export const headlessFlags: readonly string[]
