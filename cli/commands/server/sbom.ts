import sbom from '../../../.cache/sbom.json' with { type: 'json' }

export const printSbom = (): void => console.log(JSON.stringify(sbom, null, 2))
