/** Creates the ids that the API shows: random and opaque. */

export const newSessionId = (): string => `ses_${crypto.randomUUID().replaceAll('-', '')}`
export const newRunId = (): string => `run_${crypto.randomUUID().replaceAll('-', '')}`
export const newCredentialId = (): string => `cred_${crypto.randomUUID().replaceAll('-', '')}`
