export const canMakeCertificates: boolean
export const clients: [program: string, request: (url: string) => string][]
export function startSite(): Promise<{ readonly url: string; readonly authority: string; readonly close: () => void }>
