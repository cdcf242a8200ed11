import { describe, expect, it } from 'vitest'
import { type FileItem, readItems } from './item-file.js'

async function* chunksOf(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function read(content: string | Buffer, size = 7): Promise<FileItem[]> {
  const items: FileItem[] = []
  for await (const item of readItems(chunksOf(Buffer.from(content), size), 'a.json'))
    items.push(item)
  return items
}

const two = [
  { line: 1, item: { a: '}],{' } },
  { line: 2, item: { b: [1, { c: '\\"' }] } },
]

describe('files of items', () => {
  it.each([1, 2, 3, 7, 100])('are lines or an array, in pieces of %i bytes', async (size) => {
    const [one, other] = two.map(({ item }) => JSON.stringify(item))
    for (const text of [
      `${one}\n${other}`,
      `\ufeff${one}\r\n${other}\r\n`,
      `[${one},\n${other}]\n`,
      `\ufeff [ ${one}\n, ${other} ]`,
    ])
      expect(await read(text, size)).toEqual(two)
  })

  it('an entry of an array that is long in lines is named by its first one', async () => {
    expect(await read('[\n\n{\n"a":\n1}\n,\n{}\n]')).toEqual([
      { line: 3, item: { a: 1 } },
      { line: 7, item: {} },
    ])
  })

  it('bad lines are named, and the others are read', async () => {
    const bad = Buffer.concat([
      Buffer.from('{}\n{"a":"'),
      Buffer.from([0xff]),
      Buffer.from('"}\n{\n3\n'),
    ])
    expect(await read(bad)).toEqual([
      { line: 1, item: {} },
      { line: 2, problem: 'is not valid UTF-8' },
      { line: 3, problem: 'is not valid JSON' },
      { line: 4, problem: 'is no JSON object' },
    ])
    const deep = `{"a":${'['.repeat(100)}${']'.repeat(100)}}`
    expect(await read(deep)).toMatchObject([{ problem: expect.stringContaining('64 levels') }])
  })

  it('a line of 100 MB is named, and the next one is read', async () => {
    const size = 2 ** 20
    async function* long() {
      yield Buffer.from('{"a":"')
      for (let sent = 0; sent < 100; sent++) yield Buffer.alloc(size, 'x')
      yield Buffer.from('"}\n{}\n')
    }
    const items: FileItem[] = []
    for await (const item of readItems(long(), 'a.json')) items.push(item)
    expect(items).toEqual([
      { line: 1, problem: 'is longer than 4 MiB' },
      { line: 2, item: {} },
    ])
  })

  it.each<[string, string | Buffer, string]>([
    ['an empty file', '', 'is empty'],
    ['a blank file', ' \n\n', 'is empty'],
    [
      'a file of gzip',
      Buffer.from('1f8b08000000', 'hex'),
      'is compressed; read it through standard input',
    ],
    ['UTF-16', Buffer.from('\ufeff{}', 'utf16le'), 'is in UTF-16'],
    ['an archive', Buffer.from('PK\u0003\u0004'), 'is a ZIP archive'],
    ['a program', Buffer.from('\u007fELF\u0002\u0000'), 'is no text'],
    ['another text', 'id,name', 'has neither one JSON object a line nor a JSON array'],
    ['an array that is cut off', '[{},', 'ends inside its array: it is cut off'],
    ['an array that is cut off in an entry', '[{"a":1', 'ends inside its array: it is cut off'],
    ['an array of numbers', '[1]', 'is no JSON array of objects at line 1'],
    ['something after an array', '[{}]\n[', 'is no JSON array of objects at line 2'],
  ])('%s is refused in a sentence', async (_, content, sentence) => {
    await expect(read(content)).rejects.toThrow(`a.json ${sentence}`)
  })
})
