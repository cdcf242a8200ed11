import { imageType } from '@hermod/protocol'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { pictureForm } from './rendition-model.js'

const thumbnail = (width?: number, height?: number) =>
  pictureForm({ imageType: imageType.thumbnail, width, height })

describe('the form of a picture', () => {
  it('is 200 by 200 unless something else is asked for', () => {
    const form = { width: 200, height: 200, fit: 'inside', name: 'thumbnail-200x200' }
    expect(thumbnail()).toEqual(form)
    expect(thumbnail(0, 0)).toEqual(form)
  })

  it('has sizes that are rounded up, and a side that is not given is as long as the other', () => {
    expect(thumbnail(201, 99.5)).toMatchObject({ width: 400, height: 100 })
    expect(thumbnail(640)).toMatchObject({ width: 800, height: 800 })
    expect(thumbnail(undefined, 1)).toMatchObject({ width: 100, height: 100 })
    expect(thumbnail(1e308, 1_601)).toMatchObject({ width: 1_600, height: 1_600 })
  })

  it('of a cover fills its size and has another name', () => {
    const cover = pictureForm({ imageType: imageType.cover, width: 100 })
    expect(cover).toEqual({ width: 100, height: 100, fit: 'cover', name: 'cover-100x100' })
  })

  it('is one of few, whatever is asked for', () => {
    const names = new Set<string>()
    fc.assert(
      fc.property(
        fc.double({ min: 0, noNaN: true }),
        fc.double({ min: 0, noNaN: true }),
        (w, h) => {
          names.add(thumbnail(w, h).name)
        },
      ),
      { numRuns: 1_000 },
    )
    expect(names.size).toBeLessThanOrEqual(25)
  })
})
