/** The description of the API in the checkout is that of the release. */
import { readFileSync } from 'node:fs'
import {
  currentDocument,
  readableJson,
  releasePath,
} from '../docs/dist/api-changes/release-document.js'

/** @returns faults of docs/reference/hermod.openapi.json */
export function descriptionFaults() {
  return readFileSync(releasePath, 'utf8') === readableJson(currentDocument())
    ? []
    : [
        'docs/reference/hermod.openapi.json is not the description of this version: npm run docs:release',
      ]
}
