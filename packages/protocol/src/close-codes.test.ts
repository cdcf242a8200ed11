import { describe, expect, it } from 'vitest'
import { closeCodes, closeMeanings, mayComeBack } from './close-codes.js'

describe('close codes', () => {
  it('have the numbers that clients know', () => {
    expect(closeCodes).toMatchObject({ shutdown: 4000, epochChanged: 4008, replaced: 4500 })
    expect(Object.values(closeCodes)).toHaveLength(new Set(Object.values(closeCodes)).size)
  })

  it('say by their range whether a client comes back', () => {
    const returning = Object.values(closeCodes).filter(mayComeBack)
    expect(Math.max(...returning)).toBeLessThan(4500)
    expect(mayComeBack(closeCodes.replaced)).toBe(false)
  })

  it('have a meaning each', () => {
    expect(Object.keys(closeMeanings)).toEqual(Object.keys(closeCodes))
    expect(closeMeanings.notOpened).toBe('A call came before session.open.')
  })
})
