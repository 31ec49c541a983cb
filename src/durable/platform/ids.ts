/** Ids of what the outside may name. Random, opaque, and without a meaning that could be guessed. */

export const newSessionId = (): string => `ses_${crypto.randomUUID().replaceAll('-', '')}`
export const newRunId = (): string => `run_${crypto.randomUUID().replaceAll('-', '')}`
export const newCredentialId = (): string => `cred_${crypto.randomUUID().replaceAll('-', '')}`
