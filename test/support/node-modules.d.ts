/** The scripts and the command line are JavaScript without declarations. */
declare module '*.mjs'

/** Tests of the page compare its words, whose module also sets the language of the document. */
declare const document: { readonly documentElement: { lang: string } }
