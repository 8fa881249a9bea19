-- expand
CREATE TABLE "vector_indexes" (
	"owner" uuid NOT NULL,
	"model" text NOT NULL,
	"name" text NOT NULL,
	"dimensions" integer NOT NULL,
	"state" text NOT NULL,
	"ef_search" integer NOT NULL,
	"marked_seq" bigint NOT NULL,
	"recall" real,
	"checked_at" timestamp(3) with time zone,
	CONSTRAINT "vector_indexes_owner_model_pk" PRIMARY KEY("owner","model")
);

ALTER TABLE "passage_vectors" ADD COLUMN "owner" uuid;
