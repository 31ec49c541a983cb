/** Returns the digit of a reaction like `1️⃣` below a text that lists this choice by number. */
export function chosenNumber(reaction: string | undefined, question: string | undefined): string | undefined {
  const digit = /^([1-9])\uFE0F?\u20E3$/u.exec(reaction ?? '')?.[1]
  return digit !== undefined && question?.split('\n').some((line) => line.startsWith(`${digit}. `)) ? digit : undefined
}
