ALTER TABLE "passage_vectors" ADD COLUMN "bits" bit varying GENERATED ALWAYS AS (binary_quantize(vector)) STORED;
