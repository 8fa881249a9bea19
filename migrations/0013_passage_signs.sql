CREATE TABLE "passage_signs" (
	"passage_id" uuid NOT NULL,
	"model" text NOT NULL,
	"owner" uuid NOT NULL,
	"signs" bit varying NOT NULL,
	CONSTRAINT "passage_signs_passage_id_model_pk" PRIMARY KEY("passage_id","model")
);

ALTER TABLE "passages" ADD COLUMN "owner" uuid GENERATED ALWAYS AS (coalesce(organization_id, user_id)) STORED;
ALTER TABLE "passages" ADD CONSTRAINT "passages_owner" UNIQUE("id","owner");
ALTER TABLE "passage_signs" ADD CONSTRAINT "passage_signs_vector" FOREIGN KEY ("passage_id","model") REFERENCES "public"."passage_vectors"("passage_id","model") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "passage_signs" ADD CONSTRAINT "passage_signs_passage" FOREIGN KEY ("passage_id","owner") REFERENCES "public"."passages"("id","owner") ON DELETE cascade ON UPDATE cascade;
CREATE INDEX "passage_signs_owner" ON "passage_signs" USING btree ("owner");
ALTER TABLE "passage_vectors" DROP COLUMN "bits";
