/** The language that the person wishes: chosen in the account, else that of the browser. */

export const languageKey = 'talaria.language'

/** Two or three letters, such as `de`. */
export const wishedLanguage = (): string =>
  (localStorage.getItem(languageKey) ?? navigator.language).toLowerCase().split('-')[0] ?? 'en'
