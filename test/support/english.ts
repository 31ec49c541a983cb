/** Finds words of English sentences that are none of German. */

export const english = /\b(?:the|and|with|your|which|when|from|this|that|are|has|does|not)\b/i
