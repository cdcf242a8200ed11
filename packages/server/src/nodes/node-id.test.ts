import { cpSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { nodeIdOf, renewNodeId } from './node-id.js'

describe('the ID of a node', () => {
  let parent: string
  let folder: string

  beforeEach(() => {
    parent = mkdtempSync(join(tmpdir(), 'node-id-'))
    folder = mkdtempSync(join(parent, 'data-'))
  })
  afterEach(() => rmSync(parent, { recursive: true }))

  it('stays with the folder, also under another name', () => {
    const id = nodeIdOf(folder)
    expect(id).toMatch(/^[0-9a-f]{12}$/)
    expect(nodeIdOf(folder)).toBe(id)
    const renamed = join(parent, 'renamed')
    renameSync(folder, renamed)
    expect(nodeIdOf(renamed)).toBe(id)
  })

  it('a copy of the folder: takes its own, and the folder keeps its', () => {
    const id = nodeIdOf(folder)
    const copy = join(parent, 'copy')
    cpSync(folder, copy, { recursive: true })
    const own = nodeIdOf(copy)
    expect(own).not.toBe(id)
    expect([nodeIdOf(copy), nodeIdOf(folder)]).toEqual([own, id])
  })

  it('a damaged file, or a demand: gives a new one', () => {
    const id = nodeIdOf(folder)
    writeFileSync(join(folder, 'node.id'), '{"id"')
    const second = nodeIdOf(folder)
    expect(second).not.toBe(id)
    const third = renewNodeId(folder)
    expect([second, nodeIdOf(folder)]).toEqual([expect.not.stringMatching(third), third])
  })
})
