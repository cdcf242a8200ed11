/** The document of the API as releases have it, in a file whose differences can be read. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type OpenApiDocument, openApiDocument } from '@hermod/protocol/openapi'
import { builtOperationIds } from '@hermod/server/dist/context/handlers.js'
import { openApiExamples } from '@hermod/server/dist/http/routes/openapi-examples.js'
import { version } from '@hermod/server/dist/lib/version.js'

const root = join(dirname(fileURLToPath(import.meta.url)), '../../../..')
/** The document of the last release. */
export const releasePath = join(root, 'docs/reference/hermod.openapi.json')
const lineWidth = 120

/** Returns the document of this build. */
export function currentDocument(): OpenApiDocument {
  return openApiDocument({ version, builtOperationIds, examples: openApiExamples() })
}

/** @returns null before the first release */
export function releasedDocument(): OpenApiDocument | null {
  try {
    return JSON.parse(readFileSync(releasePath, 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** Returns JSON with a line for each value that fits into it. */
export function readableJson(value: unknown): string {
  return `${textOf(value, '')}\n`
}

function textOf(value: unknown, indent: string): string {
  const line = JSON.stringify(value)
  if (typeof value !== 'object' || value === null || line.length + indent.length <= lineWidth)
    return line
  const inner = `${indent}  `
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  const members = Array.isArray(value)
    ? value.map((each) => textOf(each, inner))
    : Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${textOf(each, inner)}`)
  return `${open}\n${inner}${members.join(`,\n${inner}`)}\n${indent}${close}`
}
