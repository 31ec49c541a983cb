export function sandboxConfig(plain: string, options?: { api?: string; server?: string }): string
export function entryOf(config: string): string | undefined
