import { describe, expect, it } from 'vitest'
import { type FilesClaim, type FoundFolder, filesProblem } from './files-folder.js'

const claim: FilesClaim = { folder: '/files', isShared: false, nodeId: 'a', others: [] }
const none: FoundFolder = { own: null, epoch: 'e1', noted: null }

function noted(own: string | null, nodeId: string | null): FoundFolder {
  return { own, epoch: 'e2', noted: { mark: 'e1/x', nodeId } }
}

describe('a node serves the files of a folder', () => {
  it('that is the first one of the database, also when a start was killed after marking it', () => {
    expect(filesProblem(claim, none)).toBeNull()
    expect(filesProblem(claim, { ...none, own: 'e1/x' })).toBeNull()
  })

  it('that is its own, that no live node has, or that it shares', () => {
    expect(filesProblem({ ...claim, others: ['b'] }, noted('e1/x', 'a'))).toBeNull()
    expect(filesProblem({ ...claim, others: ['b'] }, noted('e1/x', 'gone'))).toBeNull()
    expect(filesProblem(claim, noted('e1/x', null))).toBeNull()
    const sharing = { ...claim, isShared: true, others: ['b'] }
    expect(filesProblem(sharing, noted('e1/x', null))).toBeNull()
    expect(filesProblem(sharing, noted('e1/x', 'b'))).toBeNull()
  })
})

describe('a node does not serve the files of a folder', () => {
  it('that has those of another database', () => {
    expect(filesProblem(claim, { ...none, own: 'e0/x' })?.text).toMatch(
      /^\/files has the files of another database; .* remove \/files\/\.hermod-files if/,
    )
  })

  it.each([null, 'e1/y'])('that is another one than the noted one, with the mark %s', (own) => {
    for (const isShared of [false, true])
      expect(filesProblem({ ...claim, isShared }, noted(own, null))).toEqual({
        text: expect.stringMatching(
          /^the files are in another folder than \/files; .*write e1\/x into \/files\/\.hermod-files$/,
        ),
        because: [],
      })
  })

  it('that other live nodes have, and names them', () => {
    const others = ['b', 'c']
    expect(filesProblem({ ...claim, others }, noted('e1/x', 'c'))).toEqual({
      text: expect.stringMatching(/^node c has the files in a folder of its own; /),
      because: ['c'],
    })
    expect(filesProblem({ ...claim, others }, noted('e1/x', null))).toEqual({
      text: expect.stringMatching(/^other nodes share the folder that has the files; /),
      because: others,
    })
  })
})
