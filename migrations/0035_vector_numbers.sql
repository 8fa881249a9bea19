DROP INDEX "passage_signs_owner";
ALTER TABLE "passage_signs" ADD COLUMN "seq" bigserial NOT NULL;
CREATE INDEX "passage_signs_owner" ON "passage_signs" USING btree ("owner","seq");
