/** Recognises a phone number with its country code, as people write it: `+1 (555) 000-2222`, `15550002222`. */

const written = /^\+?[\d\s().-]{9,40}$/

export const isPhoneNumber = (text: string): boolean => written.test(text) && text.replace(/\D/g, '').length > 8
