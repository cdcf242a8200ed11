import { describe, expect, it } from 'vitest'
import {
  citedRules,
  citingErrors,
  danglingCitations,
  danglingSections,
  statedRules,
} from './citations.js'

const rules = statedRules('# Behaviour\n\n- **E5** Unread are …\n- **E8a** Content …\n')

describe('citations of rules', () => {
  it('are found alone, in lists and over the lines of a comment', () => {
    expect(citedRules('one (rule E5), two (rules A2, A2a), Rules C1 to C7')).toEqual([
      ...['E5', 'A2', 'A2a', 'C1', 'C7'],
    ])
    expect(citedRules('/** as it is (rules\n * E5 and E8a) */')).toEqual(['E5', 'E8a'])
  })

  it('are not seen in other uses of the words', () => {
    expect(citedRules('the rule of F1 drivers, rules apply, decision 007')).toEqual([])
  })

  it('are named with their file when no rule is stated under the number', () => {
    expect(danglingCitations([{ path: 'a.ts', text: '(rules E5, E9)' }], rules)).toEqual([
      'a.ts cites rule E9, which docs/reference/behaviour.md does not state',
    ])
  })

  it.each([
    'the table of document 3, part 2',
    'What a device runs on (contract, "Device entry").',
    '/** As in the contract,\n * "Device entry". */',
    '/** Always the whole list. Contract: user operations. */',
  ])('of documents outside the repository are named: %s', (text) => {
    expect(danglingCitations([{ path: 'a.ts', text }], rules)).toHaveLength(1)
  })
})

describe('citations of sections', () => {
  const pages = { 'docs/a.md': '# A\n\n## Devices\n' }

  it('lead to a heading of the page, also over the lines of a comment', () => {
    const text = '/** See docs/a.md,\n * "Devices". */'
    expect(danglingSections([{ path: 'a.ts', text }], pages)).toEqual([])
  })

  it('are named with their file when the page has no such heading or is not there', () => {
    const text = 'docs/a.md, "Device entry"; docs/b.md, "Devices"'
    expect(danglingSections([{ path: 'a.ts', text }], pages)).toEqual([
      'a.ts cites "Device entry" of docs/a.md, which is not there',
      'a.ts cites "Devices" of docs/b.md, which is not there',
    ])
  })
})

describe('texts of errors', () => {
  it('may not cite rules, neither in the catalogue nor in a detail', () => {
    const catalogue = { good: { text: 'fine' }, bad: { text: 'not so (rule E5)' } }
    const source = {
      path: 'a.ts',
      text: "throw new AppError('invalid_parameter', 'limit must be more (rule E5)')",
    }
    expect(citingErrors(catalogue, [source])).toHaveLength(2)
  })

  it('may stand beside comments that do', () => {
    const text = "// As rule E5 has it.\nthrow new AppError('no_permission', 'not yours')\n"
    expect(citingErrors({}, [{ path: 'a.ts', text }])).toEqual([])
  })
})
