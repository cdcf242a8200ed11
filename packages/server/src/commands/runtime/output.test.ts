import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { formatTable, Printer, printable } from './output.js'

describe('the output for people', () => {
  it('has no characters that a terminal obeys, whatever names and files have', async () => {
    const out = new PassThrough()
    const rows = [{ name: 'x\u001b]0;title\u0007\u001b[2J', text: '\u009b31m\u007f\rover' }]
    new Printer(out, false).print(rows, () => `${formatTable(rows, '')}\nand\tmore`)
    expect(out.read().toString()).toBe(
      `${'name'.padEnd(32)}text\n` +
        'x\\u001b]0;title\\u0007\\u001b[2J  \\u009b31m\\u007f\\u000dover\nand\tmore\n',
    )
  })

  it('has letters of every language as they are', () => {
    expect(printable('é 中 😀 "\\"\n')).toBe('é 中 😀 "\\"\n')
  })
})
