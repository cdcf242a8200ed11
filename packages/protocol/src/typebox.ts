/** The parts of the schema library in use; one file after the build, see scripts/bundle.mjs. */
export { type Static, type TProperties, type TSchema, Type } from '@sinclair/typebox'
