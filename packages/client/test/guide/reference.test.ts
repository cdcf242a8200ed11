import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { clientErrors } from '../../src/errors.js'

const page = join(import.meta.dirname, '../../../../docs/reference/client.md')

/** Types of the platform, of React, and of `@hermod/protocol`, and parameters of types. */
const others = [
  ...['AbortSignal', 'Blob', 'Error', 'File', 'Promise', 'Readonly', 'Record', 'ReactNode'],
  ...['AsyncIterable', 'Iterable'],
  ...['DeviceEventPayloads', 'Extract', 'Id', 'Kind', 'Partial', 'Pick', 'Value'],
]

const text = readFileSync(page, 'utf8')
/** Declarations and members, without texts. */
const code = [...text.matchAll(/```ts\n(.*?)```|^- `(.*?)`(?::|$)/gms)]
  .map(([, block = '', member = '']) => block + member)
  .join('\n')
  .replaceAll(/'[^']*'/g, '')

it('every type that the reference of the client names is exported, so an app can name it too', () => {
  const exported = [...text.matchAll(/^### (\w+)$/gm)].map(([, name]) => name)
  const named = [...code.matchAll(/(?<![.\w])[A-Z]\w+/g)].map(([name]) => name)
  expect(exported.length).toBeGreaterThan(40)
  expect([...new Set(named)].filter((name) => ![...exported, ...others].includes(name))).toEqual([])
})

it('no public type has a member with a name of the wire', () => {
  const members = [...code.matchAll(/\b([a-z]+_\w+)\??(?=:)/g)].map(([, name]) => name)
  expect(members.filter((name) => !Object.hasOwn(clientErrors, name ?? ''))).toEqual([])
})
