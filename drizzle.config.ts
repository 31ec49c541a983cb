import { defineConfig } from 'drizzle-kit'

// Only `generate` is used. `push` would drop the full-text tables, which drizzle does not know.
export default defineConfig({ dialect: 'sqlite', schema: './src/db/schema.ts', out: './migrations' })
