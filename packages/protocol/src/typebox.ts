/** What we use of the schema library; one file after the build, see scripts/bundle.mjs. */
export { type Static, type TProperties, type TSchema, Type } from '@sinclair/typebox'
