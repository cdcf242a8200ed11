import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const page = join(import.meta.dirname, '../../../../docs/reference/client.md')

/** Types of the platform, of React, and of `@hermod/protocol`, and parameters of types. */
const others = [
  ...['AbortSignal', 'Blob', 'Error', 'File', 'Promise', 'Readonly', 'Record', 'ReactNode'],
  ...['DeviceEventPayloads', 'Id', 'Kind'],
]

it('every type that the reference of the client names is exported, so an app can name it too', () => {
  const text = readFileSync(page, 'utf8')
  const exported = [...text.matchAll(/^### (\w+)$/gm)].map(([, name]) => name)
  const code = [...text.matchAll(/```ts\n(.*?)```|^- `(.*?)`(?::|$)/gms)]
    .map(([, block = '', member = '']) => block + member)
    .join('\n')
    .replaceAll(/'[^']*'/g, '')
  const named = [...code.matchAll(/(?<![.\w])[A-Z]\w+/g)].map(([name]) => name)
  expect(exported.length).toBeGreaterThan(40)
  expect([...new Set(named)].filter((name) => ![...exported, ...others].includes(name))).toEqual([])
})
