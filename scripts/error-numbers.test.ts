/**
 * Tests name errors as the catalogue does, so that what is expected can be read, and a number is
 * written down in one place.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { errorCatalogue } from '@hermod/protocol'
import { expect, it } from 'vitest'

const folder = fileURLToPath(new URL('../packages/server/test/', import.meta.url))
const codes = new Set(Object.values(errorCatalogue).map(({ code }) => String(code)))

/** @returns the codes that a text has as numbers; amounts have underscores, and characters braces */
function codesIn(text: string): string[] {
  return [...text.matchAll(/(?<![\w.{-])\d+(?![\w.}])/g)]
    .map(([number]) => number)
    .filter((number) => codes.has(number))
}

it('integration tests have no number of the error catalogue', () => {
  const found = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.m?[jt]s$/.test(name))
    .flatMap((name) =>
      codesIn(readFileSync(folder + name, 'utf8')).map((code) => `${name}: ${code}`),
    )
  expect(found).toEqual([])
})

it('a number of the error catalogue is told from an amount and a character', () => {
  expect(codesIn(`[402, 20001] '"code":14004' 20_000 '\\u{10000}' hmu_10003`)).toEqual([
    '402',
    '20001',
    '14004',
  ])
})
